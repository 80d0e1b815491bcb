"""Models as their own Hugging Face configurations (`config.json`) describe them."""
