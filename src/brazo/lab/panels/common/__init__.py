"""What several panels share: elements as HTML, plots and the choice of a robot."""
