package app

// BeforeSend is what the engine waits for before it sends.
var BeforeSend = beforeSend
