"""When: the engines that play a Program."""
