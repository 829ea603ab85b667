"""After GoKer: faults of Go programs, cut down to what matters (Yuan et al.: GoBench, CGO 2021)."""
