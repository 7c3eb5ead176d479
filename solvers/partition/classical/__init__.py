"""What people compare with: simple methods that give plans, and no bounds."""
