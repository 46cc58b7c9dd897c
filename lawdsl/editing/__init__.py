"""What an editor asks about a `.law` file, as functions of its text."""
