"""Files from which interrupted runs are resumed: stored blocks, progress journals and partial results."""
