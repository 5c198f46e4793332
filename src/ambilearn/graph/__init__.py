"""Who is near whom, and with what weight: neighbor searches and the graphs made of them."""
