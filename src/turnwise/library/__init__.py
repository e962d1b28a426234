"""What commands share beside their settings: data as files, results and what is said about them."""
