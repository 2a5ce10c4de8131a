/** The parts of Scalar's configuration used here. */
export interface ScalarConfiguration {
  content: unknown;
  customFetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  [option: string]: unknown;
}

export interface ScalarReference {
  updateConfiguration(configuration: ScalarConfiguration): void;
}

declare global {
  var Scalar: {
    createApiReference(element: Element, configuration: ScalarConfiguration): ScalarReference;
  };
}
