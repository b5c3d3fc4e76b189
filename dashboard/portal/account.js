// The account of who is signed in: what somebody may change of themselves.

/** What somebody may change of themselves. */
function editAccount() {
    const signedIn = /** @type {Member} */ (member());
    const data = store({ name: signedIn.name, email: signedIn.email, notify: signedIn.notify || "immediately", password: "", oldPassword: "" });
    openForm({
        title: "Account",
        submit: "Save",
        content: () => [
            textField("Name", data, "name", { maxLength: 255, autocomplete: "name" }),
            textField("Email", data, "email", {
                type: "email",
                required: true,
                readOnly: !settings.sendsMail,
                autocomplete: "email",
                help: settings.sendsMail ? "Confirm a new address with the link that is sent to it." : "No mail server is set up. To change the address, ask the company that runs this portal.",
            }),
            signedIn.role === "admin" ? selectField("Notices by email", data, "notify", () => notices) : null, // which viewers do not receive
            textField("New password", data, "password", { type: "password", autocomplete: "new-password", help: "Leave empty to keep the current one. Changing it ends all sessions." }),
            () => (data.password ? textField("Current password", data, "oldPassword", { type: "password", required: true, autocomplete: "current-password" }) : null),
        ],
        run: async () => {
            const { name, email, notify, password, oldPassword } = data;
            const passwords = password ? { password, passwordConfirm: password, oldPassword } : {};
            if (email.trim() !== signedIn.email) {
                await askToSignIn("request-email-change", { newEmail: email.trim() });
                app.toasts.success("To confirm the new address, open the link in the email that was sent to it.");
            }
            await app.pb.collection("tenant_members").update(signedIn.id, { name: name.trim(), notify, ...passwords });
            if (password) { // which ends all sessions
                endSession("Your password is changed. Sign in again.");
            }
            refreshPage();
        },
    });
}
