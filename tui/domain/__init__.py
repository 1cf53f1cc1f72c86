"""The nouns: frozen values, standard library only."""
