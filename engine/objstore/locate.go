package objstore

// Reference is an absolute path or URI, decoded.
type Reference struct {
	// Scheme is in lower case and empty for a path. Host is empty if the URI has none.
	Scheme, Host string
	// Path begins with a slash.
	Path string
}

// Locator is a Bucket that resolves the absolute references by which other programs find
// its objects. Wrappers delegate to the bucket that they wrap.
type Locator interface {
	// Locate returns the name, relative to the folder dir, of the object to which ref
	// leads; the object need not exist. dir is empty or ends in a slash. It follows ".."
	// and links first, and returns false for everything outside the folder.
	Locate(dir string, ref Reference) (name string, ok bool)
}

// Locate returns the name of the object of bucket to which ref leads. It returns false if
// ref does not lead into bucket, or if bucket is not a [Locator].
func Locate(bucket Bucket, ref Reference) (name string, ok bool) {
	name, ok = locate(bucket, "", ref)
	return name, ok && ValidName(name) == nil
}

func locate(bucket Bucket, dir string, ref Reference) (string, bool) {
	l, ok := bucket.(Locator)
	if !ok {
		return "", false
	}
	return l.Locate(dir, ref)
}

// Locate implements Locator.
func (b *prefixed) Locate(dir string, ref Reference) (string, bool) {
	if ValidPrefix(b.dir+dir) != nil {
		return "", false
	}
	return locate(b.inner, b.dir+dir, ref)
}

// Locate implements Locator.
func (b *named) Locate(dir string, ref Reference) (string, bool) { return locate(b.inner, dir, ref) }

// Locate implements Locator.
func (b *measured) Locate(dir string, ref Reference) (string, bool) {
	return locate(b.inner, dir, ref)
}

// Locate implements Locator. Every credential leads to the same objects.
func (b *renewed) Locate(dir string, ref Reference) (string, bool) { return locate(b.inner, dir, ref) }
