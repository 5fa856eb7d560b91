"""What an installation consists of, put together from the objects of all inputs."""
