package envs

// Unregister lets a test leave the registry as it found it.
func Unregister(id string) {
	registry.Lock()
	defer registry.Unlock()
	delete(registry.make, id)
}
