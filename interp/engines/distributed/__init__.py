"""The engine `distributed`: one run on several workers that share nothing and send each other messages."""
