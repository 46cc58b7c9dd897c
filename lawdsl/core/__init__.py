"""What every room builds on; nothing here knows of laws or imports an array or algebra library."""
