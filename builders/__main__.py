"""`python -m builders` is the command."""

from builders.cli import main

if __name__ == "__main__":
    main()
