"""Control panel: controllers, gains and step responses of the robots."""
