"""`python -m tagloom` is the command line."""

from tagloom.tui.cli.main import main

if __name__ == "__main__":
    main()
