"""Tables -> proposed laws."""
