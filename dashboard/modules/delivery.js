// One delivery: its event and its attempts.

/**
 * The drawer with the event and all attempts; it goes on looking, so that a redelivery shows its outcome.
 *
 * @param {Delivery} delivery
 */
function showDelivery(delivery) {
    /** @type {{ delivery: Delivery, payload: string | null, attempts: Attempt[] | null, fault: string }} */
    const state = store({ delivery, payload: null, attempts: null, fault: "" });
    async function load() {
        try {
            const [fresh, event, attempts] = await Promise.all([
                app.pb.collection("deliveries").getOne(delivery.id, { fields: "id,status", requestKey: null }),
                // the whole record: choosing fields would put the properties of the payload into another order
                state.payload ? null : app.pb.collection("events").getOne(delivery.event, { requestKey: null }),
                listRecords("delivery_attempts", {
                    perPage: 50,
                    sort: "-number,-started",
                    skipTotal: true,
                    conditions: [app.pb.filter("delivery = {:delivery}", { delivery: delivery.id })],
                }),
            ]);
            keep(state, "delivery", { ...delivery, ...fresh });
            keep(state, "attempts", attempts.items);
            if (event) {
                state.payload = layOut(event.payload);
            }
            state.fault = "";
        } catch (error) {
            state.fault = errorText(error);
        }
    }
    const polling = poll(load, 2);
    openDialog({
        title: eventKinds[delivery.type] || delivery.type,
        drawer: true,
        onclose: polling.stop,
        content: [
            () => (state.fault ? t.div({ className: "alert danger", role: "alert" }, state.fault) : null),
            t.div({ className: "integrations-attempt-summary m-b-sm" }, () => stateLabel(deliveryStates[state.delivery.status]), t.code(null, delivery.id)),
            () => textBlock("Request body", state.payload, "Loading…"),
            t.h3({ className: "m-b-10" }, "Attempts"),
            () => {
                if (!state.attempts?.length) {
                    return t.p({ className: "txt-hint" }, state.attempts ? "None yet." : "Loading…");
                }
                return state.attempts.map((shown) => t.div({ rid: shown.id }, attemptDetails(shown)));
            },
        ],
        footer: (close) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", onclick: close }, t.span({ className: "txt" }, "Close")),
            t.button(
                { type: "button", className: "btn expanded", onclick: () => redeliver(delivery).then(polling.again) },
                t.span({ className: "txt" }, "Redeliver"),
            ),
        ],
    });
}
