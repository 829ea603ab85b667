"""asyncio under control."""
