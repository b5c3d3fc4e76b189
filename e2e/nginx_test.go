package e2e

import "path/filepath"

// nginxConfiguration returns the configuration of an nginx that writes beside its file alone, with directives of its own and of HTTP.
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

// nginxArguments has nginx take a configuration.
func nginxArguments(file string) []string {
	return []string{"-p", filepath.Dir(file), "-c", file, "-e", "stderr"}
}
