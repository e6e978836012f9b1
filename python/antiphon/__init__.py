"""antiphon"""
