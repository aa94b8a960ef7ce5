import { createElement } from "lwc";
import ProfileHeader from "c/profileHeader";
import getCompletion from "@salesforce/apex/ProfileCompletionService.getCompletion";

jest.mock(
    "@salesforce/apex/ProfileCompletionService.getCompletion",
    () => {
        const { createApexTestWireAdapter } = require("@salesforce/sfdx-lwc-jest");
        return { default: createApexTestWireAdapter(jest.fn()) };
    },
    { virtual: true }
);

const CONTACT_ID = "003000000000001AAA";

function createHeader() {
    const element = createElement("c-profile-header", { is: ProfileHeader });
    element.recordId = CONTACT_ID;
    document.body.appendChild(element);
    return element;
}

describe("c-profile-header", () => {
    afterEach(() => {
        while (document.body.firstChild) {
            document.body.removeChild(document.body.firstChild);
        }
        jest.clearAllMocks();
    });

    it("asks for the contact of the record page", async () => {
        createHeader();
        await Promise.resolve();

        expect(getCompletion.getLastConfig()).toEqual({ contactId: CONTACT_ID });
    });

    it("shows a spinner until the answer is there", () => {
        const { shadowRoot } = createHeader();
        expect(shadowRoot.querySelector("lightning-spinner")).not.toBeNull();
    });

    it("shows the percentage and the missing fields", async () => {
        const { shadowRoot } = createHeader();
        getCompletion.emit({ percent: 60, missingFields: ["Title", "Mailing City"] });
        await Promise.resolve();

        expect(shadowRoot.querySelector(".percent").textContent).toBe("60% complete");
        expect(shadowRoot.querySelector("lightning-progress-bar").value).toBe(60);
        const missing = [...shadowRoot.querySelectorAll(".missing")].map((item) => item.textContent);
        expect(missing).toEqual(["Title", "Mailing City"]);
    });

    it("lists nothing when the profile is complete", async () => {
        const { shadowRoot } = createHeader();
        getCompletion.emit({ percent: 100, missingFields: [] });
        await Promise.resolve();

        expect(shadowRoot.querySelector(".percent").textContent).toBe("100% complete");
        expect(shadowRoot.querySelector("ul")).toBeNull();
    });

    it("shows the message of an error", async () => {
        const { shadowRoot } = createHeader();
        getCompletion.error({ message: "This contact does not exist, or you may not see it." });
        await Promise.resolve();

        expect(shadowRoot.querySelector("[role='alert']").textContent).toBe(
            "This contact does not exist, or you may not see it."
        );
    });
});
