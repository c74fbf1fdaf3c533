"""What a robot is: typed description, its readers and writers, its body."""
