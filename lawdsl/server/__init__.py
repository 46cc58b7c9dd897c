"""The language server of `.law` files: `lawdsl.editing` over the Language Server Protocol."""
