"""Message code -> its meaning and examples, as `lawdsl explain` prints them."""
