"""`python -m lawdsl`"""

from lawdsl.cli import main

if __name__ == "__main__":
    main()
