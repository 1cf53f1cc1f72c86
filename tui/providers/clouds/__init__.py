"""The logins of clouds, which stand in for keys: AWS, Google Cloud, Azure. Each needs its cloud's own package."""
