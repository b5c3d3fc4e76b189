package e2e

import "path/filepath"

// nginxConfiguration returns the configuration of an nginx that writes only beside its file, with
// additional directives.
func nginxConfiguration(own, http string) string {
	return `daemon off;
pid nginx.pid;
` + own + `
events {}
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	` + http + `
}
`
}

// nginxArguments returns the arguments for a configuration.
func nginxArguments(file string) []string {
	return []string{"-p", filepath.Dir(file), "-c", file, "-e", "stderr"}
}
