import BottleProtocol

/// A prompt for the user.
struct BenchDayPrompt: Sendable {
    enum Kind: Sendable {
        /// Sync with the manufacturer's app on a phone that records its HCI log.
        case app
        /// Drink about this amount. If it is measured, the answer is the amount.
        case sip(ml: Int, isMeasured: Bool)
        /// Yes or no, with the default.
        case confirm(byDefault: Bool)
    }

    let text: String
    let kind: Kind

    init(_ text: String, _ kind: Kind) { (self.text, self.kind) = (text, kind) }
}

/// One step: the user's action, then the request to the bottle.
struct BenchDayStep: Sendable {
    enum Request: Equatable, Sendable {
        /// Listen without a request.
        case listen(Duration)
        /// Write a command up to three times until a value arrives.
        case ask(HostCommand)
        /// Read the whole log.
        case log
        /// Read the response characteristic.
        case read
        /// Scan during the connection.
        case scan(Duration)
        case acknowledge(Acknowledgement)
        case requireEmptyLog
        case setClock(isNextYear: Bool)
    }

    enum Acknowledgement: Sendable {
        case one, all
        /// The only record, which has the date of the next year's step.
        case nextYear
    }

    let name: String
    let request: Request
    let prompt: BenchDayPrompt?

    init(_ name: String, _ request: Request, _ prompt: BenchDayPrompt? = nil) {
        (self.name, self.request, self.prompt) = (name, request, prompt)
    }
}

/// The steps of one connection. On links with PDUs, each part has a separate capture.
struct BenchDayPart: Sendable {
    let name: String
    var prompt: BenchDayPrompt?
    let steps: [BenchDayStep]

    static let firstName = "1-first-connection"
    static let acknowledgementsName = "5-acknowledgements"

    /// The order prevents data loss: first the log is read and recorded, then the manufacturer's app syncs, and only
    /// stored records are acknowledged.
    static let all = [
        BenchDayPart(
            name: firstName,
            steps: [
                BenchDayStep("unasked", .listen(.seconds(12))), BenchDayStep("snapshot", .ask(.snapshot)),
                BenchDayStep("log", .log), BenchDayStep("read", .read), BenchDayStep("scan", .scan(.seconds(10))),
            ]),
        BenchDayPart(
            name: "2-after-the-app",
            prompt: BenchDayPrompt(
                """
                Sync with the maker's app: switch on the phone's "Bluetooth HCI snoop log", let the app sync, and keep \
                the log (adb bugreport). Nothing is acknowledged yet.
                """, .app),
            steps: [BenchDayStep("log-after-app", .log)]),
        BenchDayPart(
            name: "3-known-sips",
            steps: [BenchDayStep("snapshot", .ask(.snapshot))]
                + [100, 200, 300].map { ml in
                    BenchDayStep(
                        "sip-\(ml)", .listen(.seconds(3)),
                        BenchDayPrompt(
                            "Drink \(ml) ml by a measuring cup, wait until it is counted, type the amount.",
                            .sip(ml: ml, isMeasured: true)))
                }
                + [
                    BenchDayStep("log-after-sips", .log), BenchDayStep("snapshot", .ask(.snapshot)),
                    BenchDayStep("log-again", .log),
                ]),
        BenchDayPart(
            name: "4-requests",
            steps: [BenchDayStep("snapshot", .ask(.snapshot))]
                + [3, 4, 1].map { BenchDayStep("bare-0\($0)", .ask(.draftDump($0))) }
                + [
                    EntryType.temperature, .battery, .clock, .amount, .goal, .level, .charging, .language, .reminder,
                    .tds,
                ].map { BenchDayStep("get-0x" + String($0.rawValue, radix: 16), .ask(.get($0))) }),
        BenchDayPart(
            name: acknowledgementsName,
            prompt: BenchDayPrompt(
                "The log is stored now and then acknowledged, so that the bottle deletes it. Continue?",
                .confirm(byDefault: true)),
            steps: [
                BenchDayStep("acknowledge-without-log", .acknowledge(.one)),
                BenchDayStep("log-after-acknowledgement-without-log", .log),
                BenchDayStep("acknowledge-one", .acknowledge(.one)), BenchDayStep("log-after-one", .log),
                BenchDayStep("acknowledge-all", .acknowledge(.all)), BenchDayStep("log-after-all", .log),
            ]),
        BenchDayPart(
            name: "6-next-year",
            prompt: BenchDayPrompt(
                """
                For byte 0 the bottle's clock is set to the next year for one sip of about 50 ml. The sip does not \
                count, and is removed from the log. Continue?
                """, .confirm(byDefault: true)),
            steps: [
                BenchDayStep("log-before-next-year", .log), BenchDayStep("empty-log", .requireEmptyLog),
                BenchDayStep("set-next-year", .setClock(isNextYear: true)),
                BenchDayStep(
                    "sip-next-year", .listen(.seconds(3)),
                    BenchDayPrompt(
                        "Drink about 50 ml, and wait until it is counted.", .sip(ml: 50, isMeasured: false))),
                BenchDayStep("log-of-next-year", .log), BenchDayStep("set-clock", .setClock(isNextYear: false)),
                BenchDayStep("acknowledge-next-year", .acknowledge(.nextYear)),
            ]),
    ]
}
