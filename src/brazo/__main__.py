"""`python -m brazo`: run the `brazo` command-line program."""

from brazo.cli.main import main

if __name__ == "__main__":
    main()
