"""The composer: where the user writes; history, chips, completion."""
