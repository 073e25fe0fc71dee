package store

// Store is an open database.
type Store struct{}
