"""What each message means, with an example: what `lawdsl explain` prints."""
