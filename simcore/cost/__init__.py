"""At what price: dollars, watts, joules."""
