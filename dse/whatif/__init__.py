"""What a study is asked once its search is over: the designs around its front, and the front at other batches.

`answers` holds the answers as reports take them, values only; `ask` finds them, with the simulator.
"""
