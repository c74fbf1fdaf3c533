"""`python -m brazo`: the same as the command `brazo`."""

from brazo.cli.main import main

if __name__ == "__main__":
    main()
