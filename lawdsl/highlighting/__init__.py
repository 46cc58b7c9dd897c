"""Token classes of the language, and the highlighters that are made from them."""
