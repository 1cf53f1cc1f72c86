"""The keys of vim, as a state machine on a text: no widget, no clock, no clipboard."""
