"""The logins of clouds, which replace keys: AWS, Google Cloud, Azure. Each needs its cloud's own package."""
