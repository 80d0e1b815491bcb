"""What may vary: a design document with holes, its objectives and its constraints."""
