package disk

import "golang.org/x/sys/windows"

// Of returns the space of the file system of a directory.
func Of(folder string) (Space, error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return Space{}, err
	}
	var found Space
	return found, windows.GetDiskFreeSpaceEx(path, &found.Free, &found.Size, nil)
}
