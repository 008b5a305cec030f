"""What LocalStack's free edition needs to run Ikkai's stack without Docker.

`__main__` runs LocalStack for as long as its starter lives; LocalStack finds `plugins` by the entry points beside this package.
"""
