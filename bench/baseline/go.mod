module offcut.dev/baseline

go 1.21
