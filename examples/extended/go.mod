module example.com/extended

go 1.26.0

require contactbase v0.0.0

replace contactbase => ../..
