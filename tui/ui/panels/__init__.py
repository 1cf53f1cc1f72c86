"""The sidebar and its panels, and the lists and pages that sheets share."""
