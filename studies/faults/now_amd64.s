// The function now of this package's tests has no body here.
