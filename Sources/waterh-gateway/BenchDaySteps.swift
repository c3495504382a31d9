import BottleProtocol

/// An action of the user on the bottle.
enum BenchDayAct: Hashable, Sendable {
    case sip(ml: Int)
    /// Sync with the manufacturer's app on a phone that records its HCI log.
    case app
}

/// A prompt for the user.
struct BenchDayPrompt: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case done
        /// An amount in millilitres, with the default.
        case amount(Int)
        /// Yes or no, with the default.
        case yesNo(Bool)
    }

    var word: String
    var text: String
    var form: Form
    var act: BenchDayAct?

    init(_ word: String, _ text: String, _ form: Form, act: BenchDayAct? = nil) {
        (self.word, self.text, self.form, self.act) = (word, text, form, act)
    }
}

/// One step: the user's action, the request to the bottle, and the listening time.
struct BenchDayStep: Sendable {
    enum Request: Hashable, Sendable {
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
        case acknowledge(BenchDayAcknowledgement)
        case requireEmptyLog
        case setClock(isNextYear: Bool)
    }

    let name: String
    let request: Request
    let prompt: BenchDayPrompt?

    init(_ name: String, _ request: Request, _ prompt: BenchDayPrompt? = nil) {
        (self.name, self.request, self.prompt) = (name, request, prompt)
    }
}

enum BenchDayAcknowledgement: Hashable, Sendable {
    case one, all
    /// Read the only record, which has the date of the next year's step.
    case nextYear
}

/// The steps of one connection. On links with PDUs, each part has a separate capture.
struct BenchDayPart: Sendable {
    let name: String
    let prompt: BenchDayPrompt?
    let steps: [BenchDayStep]

    /// The order prevents data loss: first the log is read and recorded, then the manufacturer's app syncs, and only
    /// stored records are acknowledged.
    static let all = [
        BenchDayPart(
            name: firstName, prompt: nil,
            steps: [
                BenchDayStep("unasked", .listen(.seconds(12))), BenchDayStep("snapshot", .ask(.snapshot)),
                BenchDayStep("log", .log), BenchDayStep("read", .read), BenchDayStep("scan", .scan(.seconds(10))),
            ]),
        BenchDayPart(
            name: "2-after-the-app",
            prompt: BenchDayPrompt(
                "app",
                """
                Sync with the maker's app: switch on the phone's "Bluetooth HCI snoop log", let the app sync, and keep \
                the log (adb bugreport). Nothing is acknowledged yet.
                """, .done, act: .app),
            steps: [BenchDayStep("log-after-app", .log)]),
        BenchDayPart(
            name: "3-known-sips", prompt: nil,
            steps: [BenchDayStep("snapshot", .ask(.snapshot))]
                + [100, 200, 300].map { ml in
                    BenchDayStep(
                        "sip-\(ml)", .listen(.seconds(3)),
                        BenchDayPrompt(
                            "sip\(ml)", "Drink \(ml) ml by a measuring cup, wait until it is counted, type the amount.",
                            .amount(ml), act: .sip(ml: ml)))
                }
                + [
                    BenchDayStep("log-after-sips", .log), BenchDayStep("snapshot", .ask(.snapshot)),
                    BenchDayStep("log-again", .log),
                ]),
        BenchDayPart(
            name: "4-requests", prompt: nil,
            steps: [BenchDayStep("snapshot", .ask(.snapshot))]
                + [3, 4, 1].map { BenchDayStep("bare-0\($0)", .ask(.draftDump($0))) }
                + [
                    EntryType.temperature, .battery, .clock, .amount, .goal, .level, .charging, .language, .reminder,
                    .tds,
                ].map { BenchDayStep("get-0x" + String($0.rawValue, radix: 16), .ask(.get($0))) }),
        BenchDayPart(
            name: acknowledgementsName,
            prompt: BenchDayPrompt(
                "acknowledge", "The log is stored now and then acknowledged, so that the bottle deletes it. Continue?",
                .yesNo(true)),
            steps: [
                BenchDayStep("acknowledge-without-log", .acknowledge(.one)),
                BenchDayStep("log-after-acknowledgement-without-log", .log),
                BenchDayStep("acknowledge-one", .acknowledge(.one)), BenchDayStep("log-after-one", .log),
                BenchDayStep("acknowledge-all", .acknowledge(.all)), BenchDayStep("log-after-all", .log),
            ]),
        BenchDayPart(
            name: "6-next-year",
            prompt: BenchDayPrompt(
                "nextYear",
                """
                For byte 0 the bottle's clock is set to the next year for one sip of about 50 ml. The sip does not \
                count, and is removed from the log. Continue?
                """, .yesNo(true)),
            steps: [
                BenchDayStep("log-before-next-year", .log), BenchDayStep("empty-log", .requireEmptyLog),
                BenchDayStep("set-next-year", .setClock(isNextYear: true)),
                BenchDayStep(
                    "sip-next-year", .listen(.seconds(3)),
                    BenchDayPrompt(
                        "sipNextYear", "Drink about 50 ml, and wait until it is counted.", .done, act: .sip(ml: 50))),
                BenchDayStep("log-of-next-year", .log), BenchDayStep("set-clock", .setClock(isNextYear: false)),
                BenchDayStep("acknowledge-next-year", .acknowledge(.nextYear)),
            ]),
    ]

    static let firstName = "1-first-connection"
    static let acknowledgementsName = "5-acknowledgements"
}
