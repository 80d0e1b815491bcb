"""The password of the tests' database."""

PASSWORD = "not-for-logs"
