from turnwise.cli import main

main()
